drop table resource_envelopes;
drop table cluster_resource_envelopes;
drop table resource_overrides;
drop table cluster_resource_overrides;
