package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
)

// An authority is the one CA of a cluster: it signs the servers' certificate
// and the clients'.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{key: key, cert: cert}, err
}

// issue writes FILE.crt and FILE.key for a subject that may serve on loopback
// and act as a client.
func (a *authority) issue(file string, subject pkix.Name) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	if err := writePem(file+".crt", "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(file+".key", key)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePem(file, "EC PRIVATE KEY", der)
}

func writePem(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// makeKeys fills DIR/pki: ca.crt, the serving pair, an administrator's client
// pair, and the key that signs service account tokens.
func (c *Cluster) makeKeys() error {
	if err := os.MkdirAll(c.path("pki"), 0o700); err != nil {
		return err
	}
	ca, err := newAuthority("kubebed " + c.Name)
	if err != nil {
		return err
	}
	if err := writePem(c.path("pki", "ca.crt"), "CERTIFICATE", ca.cert.Raw); err != nil {
		return err
	}
	if err := ca.issue(c.path("pki", "tls"), pkix.Name{CommonName: "kube-apiserver"}); err != nil {
		return err
	}
	admin := pkix.Name{CommonName: "kubebed-admin", Organization: []string{"system:masters"}}
	if err := ca.issue(c.path("pki", "admin"), admin); err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(c.path("pki", "service-accounts.key"), accounts)
}

// tokenUsers are the users who hold bearer tokens: an administrator, one whom
// RBAC gives nothing until a test binds a role to the group `muster`.
var tokenUsers = []struct{ user, groups string }{
	{"admin", "system:masters"},
	{"muster", "muster"},
}

// makeTokens writes new tokens for all users: the apiserver's file, and
// USER.token for each. The apiserver reads its file only when it starts.
func (c *Cluster) makeTokens() error {
	var lines strings.Builder
	for _, u := range tokenUsers {
		secret := make([]byte, 16)
		if _, err := rand.Read(secret); err != nil {
			return err
		}
		token := hex.EncodeToString(secret)
		fmt.Fprintf(&lines, "%s,%s,%s,%q\n", token, u.user, u.user, u.groups)
		if err := os.WriteFile(c.path(u.user+".token"), []byte(token), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(c.path("pki", "tokens.csv"), []byte(lines.String()), 0o600)
}
