package main

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

//go:embed crds/kueue.yaml
var kueueCRDs []byte

// kueueRenamed are the fields that v1beta2 has in place of v1beta1's, by kind and
// the path of the object that holds them; an empty name is a field that is gone.
var kueueRenamed = []struct {
	kind, under, from, to string
	schema                map[string]any // of the new field; nil keeps the old one's
}{
	{kind: "ClusterQueue", under: "spec", from: "cohort", to: "cohortName"},
	{kind: "ClusterQueue", under: "spec", from: "admissionChecks"},
	{kind: "Cohort", under: "spec", from: "parent", to: "parentName"},
	{kind: "LocalQueue", under: "status", from: "flavorUsage", to: "flavorsUsage"},
	{kind: "LocalQueue", under: "status", from: "flavors"},
	{kind: "Workload", under: "spec", from: "priorityClassSource"},
	{kind: "Workload", under: "spec", from: "priorityClassName", to: "priorityClassRef", schema: map[string]any{
		"type": "object", "required": []any{"group", "kind", "name"}, "properties": map[string]any{
			"group": map[string]any{"type": "string"}, "kind": map[string]any{"type": "string"},
			"name": map[string]any{"type": "string"},
		},
	}},
	{kind: "Workload", under: "status", from: "accumulatedPastExexcutionTimeSeconds", to: "accumulatedPastExecutionTimeSeconds"},
	{kind: "AdmissionCheck", under: "spec", from: "retryDelayMinutes"},
}

// installKueueKinds creates Kueue's kinds and waits until both versions are served.
func (c *Cluster) installKueueKinds(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	var paths []string
	serveBoth := func(crd *unstructured.Unstructured) error {
		plural, _, err := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		paths = append(paths, "/apis/kueue.x-k8s.io/v1beta1/"+plural, "/apis/kueue.x-k8s.io/v1beta2/"+plural)
		if err != nil {
			return err
		}
		return addV1beta2(crd)
	}
	if err := applyAll(ctx, api, kueueCRDs, serveBoth); err != nil {
		return err
	}
	for _, path := range paths {
		if err := poll(60*time.Second, path, func() error { return c.get(path) }); err != nil {
			return err
		}
	}
	return nil
}

// addV1beta2 adds the second version to a definition that has the first. Nothing
// converts between them, and what is stored is pruned by the first: so that one has
// the new fields as well.
func addV1beta2(crd *unstructured.Unstructured) error {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		return fmt.Errorf("%s: one version expected: %w", crd.GetName(), err)
	}
	next := runtime.DeepCopyJSONValue(versions[0]).(map[string]any)
	next["name"], next["storage"] = "v1beta2", false
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	for _, change := range kueueRenamed {
		if change.kind != kind {
			continue
		}
		at := []string{"schema", "openAPIV3Schema", "properties", change.under, "properties"}
		fields, found, err := unstructured.NestedMap(next, at...)
		if err != nil || !found || fields[change.from] == nil {
			return fmt.Errorf("%s has no %s.%s: %w", kind, change.under, change.from, err)
		}
		if change.to != "" {
			fields[change.to] = fields[change.from]
			if change.schema != nil {
				fields[change.to] = change.schema
			}
			if err := unstructured.SetNestedField(versions[0].(map[string]any), fields[change.to], append(at, change.to)...); err != nil {
				return err
			}
		}
		delete(fields, change.from)
		if err := unstructured.SetNestedMap(next, fields, at...); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(crd.Object, append(versions, next), "spec", "versions")
}

// startKueue starts the stand-in where the cluster has one.
func (c *Cluster) startKueue() error {
	if !c.Kueue {
		return nil
	}
	return c.start("kueue")
}
