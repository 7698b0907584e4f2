package main

import (
	"os"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfigs writes one file per way to authenticate:
// kubeconfig (token in the file), kubeconfig-tokenfile (token in a file beside
// it, re-read by clients when it changes), kubeconfig-cert (client certificate),
// each as an administrator; kubeconfig-muster is the user whom RBAC limits.
func (c *Cluster) writeKubeconfigs() error {
	token, err := os.ReadFile(c.path("admin.token"))
	if err != nil {
		return err
	}
	ways := map[string]*api.AuthInfo{
		"kubeconfig":           {Token: string(token)},
		"kubeconfig-tokenfile": {TokenFile: c.path("admin.token")},
		"kubeconfig-muster":    {TokenFile: c.path("muster.token")},
		"kubeconfig-cert": {
			ClientCertificate: c.path("pki", "admin.crt"), ClientKey: c.path("pki", "admin.key"),
		},
	}
	for file, auth := range ways {
		config := api.NewConfig()
		config.Clusters[c.Name] = &api.Cluster{
			Server: c.url(), CertificateAuthority: c.path("pki", "ca.crt"),
		}
		config.AuthInfos["user"] = auth
		config.Contexts[c.Name] = &api.Context{Cluster: c.Name, AuthInfo: "user"}
		config.CurrentContext = c.Name
		if err := clientcmd.WriteToFile(*config, c.path(file)); err != nil {
			return err
		}
	}
	return nil
}
