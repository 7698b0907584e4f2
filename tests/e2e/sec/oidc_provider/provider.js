// A certified OpenID Connect provider on loopback, for tests of tokens: node provider.js PORT KID
//
// It prints {"issuer": ...} once it listens. Clients "alice" and "bob" (secret "s") get access tokens by the client credentials grant
// for the resources urn:muster and urn:other; "muster-cli" logs people in by the device grant. POST /forge signs any header and payload by
// the provider's own key, so that tests have tokens that are wrong in one thing only.
import { createServer } from 'node:http';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

// With the variable WEB_REDIRECT "muster-web" is a web page that people come back to at that address; ID_TOKEN_SECONDS is how long its tokens are good.
const back = process.env.WEB_REDIRECT;
const [port, kid] = [Number(process.argv[2]), process.argv[3]];
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const issuer = `http://127.0.0.1:${port}`;
const groups = { alice: ['team-a', 'staff'], bob: ['team-b', 'system:masters'] };

const machine = (id) => ({
  client_id: id, client_secret: 's', grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
});
export const configuration = {
  clients: [machine('alice'), machine('bob'), {
    client_id: 'muster-cli', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: [], response_types: [],
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
  }, ...(back ? [{
    client_id: 'muster-web', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: [back],
    grant_types: ['authorization_code', 'refresh_token'],
  }] : [])],
  clientBasedCORS: (_, origin, client) => client.clientId === 'muster-web' && back.startsWith(`${origin}/`),
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] },
  cookies: { keys: ['only for tests'] },
  scopes: ['openid', 'offline_access', 'profile', 'groups'],
  claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
  conformIdTokenClaims: false,
  findAccount: async (_, id) => ({
    accountId: id, claims: async () => ({ sub: id, preferred_username: id, groups: groups[id] ?? [] }),
  }),
  extraTokenClaims: async (_, token) => ({ groups: groups[token.accountId ?? token.clientId] ?? [] }),
  issueRefreshToken: async () => true,
  ttl: { IdToken: Number(process.env.ID_TOKEN_SECONDS ?? 120), AccessToken: 600, ClientCredentials: 600, RefreshToken: 3600, DeviceCode: 120, Session: 600, Grant: 3600, Interaction: 600 },
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: async () => true,
      getResourceServerInfo: async (_, resource) => ({
        scope: 'use', audience: resource.replace('urn:', ''), accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
};
const callback = new Provider(issuer, configuration).callback();

const encoded = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

// A signature by RS256 of whatever the test asks for.
function forge(request, response) {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const { header, payload } = JSON.parse(Buffer.concat(parts).toString());
    const text = `${encoded(header)}.${encoded(payload)}`;
    response.end(`${text}.${createSign('RSA-SHA256').update(text).sign(privateKey).toString('base64url')}`);
  });
}

if (port !== 0) {
  createServer((request, response) => (request.url === '/forge' ? forge : callback)(request, response))
    .listen(port, '127.0.0.1', () => console.log(JSON.stringify({ issuer })));
}
