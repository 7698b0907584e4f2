// A second OpenID Connect provider on loopback, for tests of tokens and logins: zitadel_provider PORT KID
//
// It is the example server of github.com/zitadel/oidc with our clients, users and keys. It prints {"issuer": ...} once it listens.
// Clients "alice" and "bob" (secret "s") get access tokens by the client credentials grant, for the audience of a scope "audience:NAME",
// else for "muster"; "muster-cli" and "elsewhere" log people in by the device grant, with refresh tokens that count once.
//
//	POST /rotate?kid=NAME&keep=true   signs with a new key from now on; keep: the keys before stay published
//	POST /lifetime?seconds=N          how long ID tokens last from now on; below zero they have ended when they are given
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

var groups = map[string][]string{"alice": {"team-a", "staff"}, "bob": {"team-b", "system:masters"}}

// A key with its two faces: the private half signs, the public half is published.
type pair struct {
	kid string
	key *ecdsa.PrivateKey
}

type private struct{ pair }

func (p private) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (p private) Key() any                                    { return p.key }
func (p private) ID() string                                  { return p.kid }

type public struct{ pair }

func (p public) ID() string                         { return p.kid }
func (p public) Algorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (p public) Use() string                        { return "sig" }
func (p public) Key() any                           { return &p.key.PublicKey }

// A client of the example with other rights; its tokens are JSON web tokens.
type client struct {
	*storage.Client
	id       string
	grants   []oidc.GrantType
	lifetime time.Duration
}

func (c client) GetID() string                        { return c.id }
func (c client) GrantTypes() []oidc.GrantType         { return c.grants }
func (c client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c client) IDTokenLifetime() time.Duration       { return c.lifetime }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c client) IsScopeAllowed(scope string) bool     { return scope == "groups" }

// The users are alice and bob, with the password "x".
type people struct{}

func (people) GetUserByID(id string) *storage.User {
	if groups[id] == nil {
		return nil
	}
	return &storage.User{ID: id, Username: id, Password: "x"}
}
func (p people) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }
func (people) ExampleClientID() string                       { return storage.ServiceUserID }

// The example's storage, but for clients, keys, groups, and who a refresh token of the device grant belongs to.
type store struct {
	*storage.Storage
	lock     sync.Mutex
	keys     []pair // the last one signs
	lifetime time.Duration
}

func (s *store) rotate(kid string, keep bool) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.lock.Lock()
	defer s.lock.Unlock()
	if !keep {
		s.keys = nil
	}
	s.keys = append(s.keys, pair{kid, key})
	return err
}

func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return private{s.keys[len(s.keys)-1]}, nil
}

func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

func (s *store) KeySet(context.Context) ([]op.Key, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	var out []op.Key
	for _, key := range s.keys {
		out = append(out, public{key})
	}
	return out, nil
}

func (s *store) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if id != "muster-cli" && id != "elsewhere" {
		return nil, errors.New("client not found")
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	return client{storage.NativeClient(id), id, []oidc.GrantType{oidc.GrantTypeDeviceCode, oidc.GrantTypeRefreshToken}, s.lifetime}, nil
}

func (s *store) ClientCredentials(_ context.Context, id, secret string) (op.Client, error) {
	if groups[id] == nil || secret != "s" {
		return nil, errors.New("wrong client or secret")
	}
	return client{storage.WebClient(id, secret), id, []oidc.GrantType{oidc.GrantTypeClientCredentials}, time.Minute}, nil
}

func (s *store) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	audience := "muster"
	for _, scope := range scopes {
		if name, found := strings.CutPrefix(scope, "audience:"); found {
			audience = name
		}
	}
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{audience}, Scopes: scopes}, nil
}

func (s *store) GetPrivateClaimsFromScopes(_ context.Context, user, _ string, _ []string) (map[string]any, error) {
	return map[string]any{"groups": groups[user]}, nil
}

func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, request op.IDTokenRequest, scopes []string) error {
	if slices.Contains(scopes, "groups") {
		info.AppendClaims("groups", groups[request.GetSubject()])
	}
	return s.Storage.SetUserinfoFromRequest(ctx, info, request, scopes)
}

// The example knows clients by code requests only, and its own list of clients.
func (s *store) CreateAccessAndRefreshTokens(ctx context.Context, request op.TokenRequest, current string) (string, string, time.Time, error) {
	if device, ok := request.(*op.DeviceAuthorizationState); ok {
		request = &storage.AuthRequest{ApplicationID: device.ClientID, UserID: device.Subject, Scopes: device.Scopes}
	}
	return s.Storage.CreateAccessAndRefreshTokens(ctx, request, current)
}

func serve(port int, kid string) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	issuer := fmt.Sprintf("http://127.0.0.1:%d", port)
	known := map[string]*storage.Client{"muster-cli": storage.NativeClient("muster-cli"), "elsewhere": storage.NativeClient("elsewhere")}
	kept := &store{Storage: storage.NewStorageWithClients(people{}, known), lifetime: 5 * time.Minute}
	if err := kept.rotate(kid, false); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", exampleop.SetupServer(issuer, kept, slog.New(slog.NewTextHandler(io.Discard, nil)), false))
	mux.HandleFunc("POST /rotate", func(w http.ResponseWriter, r *http.Request) {
		if err := kept.rotate(r.URL.Query().Get("kid"), r.URL.Query().Get("keep") == "true"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /lifetime", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		kept.lock.Lock()
		defer kept.lock.Unlock()
		kept.lifetime = time.Duration(seconds) * time.Second
	})
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"issuer": issuer}); err != nil {
		return err
	}
	return http.Serve(listener, mux)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: zitadel_provider PORT KID")
	}
	port, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = serve(port, os.Args[2])
	}
	log.Fatal(err)
}
