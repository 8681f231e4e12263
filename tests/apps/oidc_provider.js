/* A real OpenID Connect provider for the tests: oidc-provider with its development pages, where any
 * name may sign in. Prints its address and runs until it is killed.
 *
 *     node oidc_provider.js PORT REDIRECT_URI
 *
 * Clients: "apps" (confidential, code with PKCE), "public" (no secret, any port of this machine) and "robot" (client
 * credentials, JWT access tokens). People whose name begins with a role ("agent-7") have that role, in each form of
 * rolesIn(); the robot is an agent. */
import Provider from "oidc-provider";

const [port, redirectUri] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const ROLES = ["admin", "provider", "agent", "operator"];

/* The claims in which known providers tell roles: flat, Keycloak's, Auth0's (a name with dots), and one text. */
const rolesIn = (roles) => ({ roles, realm_access: { roles }, "https://apps.example.com/roles": roles, role: roles.join(" ") });
const ROLE_CLAIMS = Object.keys(rolesIn([]));

const provider = new Provider(issuer, {
  clients: [
    { client_id: "apps", client_secret: "a secret/with+signs", redirect_uris: [redirectUri], response_types: ["code"],
      post_logout_redirect_uris: [new URL("/", redirectUri).href], grant_types: ["authorization_code"] },
    { client_id: "public", token_endpoint_auth_method: "none", application_type: "native",
      redirect_uris: ["http://127.0.0.1/auth/callback"], response_types: ["code"], grant_types: ["authorization_code"] },
    { client_id: "robot", client_secret: "robot secret", redirect_uris: [], response_types: [],
      grant_types: ["client_credentials"] },
  ],
  pkce: { required: () => true },
  claims: { openid: ["sub"], profile: ["name", "preferred_username"], email: ["email"], roles: ROLE_CLAIMS },
  scopes: ["openid", "profile", "email", "roles"],
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: `Name of ${id}`, email: `${id}@example.com`, preferred_username: `user.${id}`,
      ...rolesIn(ROLES.filter((role) => id.startsWith(`${role}-`))) }),
  }),
  extraTokenClaims: () => ({ ...rolesIn(["agent"]), preferred_username: "user.robot" }),
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ scope: "api", audience: resource, accessTokenTTL: 600,
        accessTokenFormat: "jwt" }),
    },
  },
  cookies: { keys: ["of the tests"] },
});
provider.listen(Number(port), "127.0.0.1", () => console.log(`serves ${issuer}`));
