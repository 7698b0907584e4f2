drop table access_tokens;
drop table cluster_role_bindings;
drop table role_bindings;
drop table cluster_roles;
drop table roles;
