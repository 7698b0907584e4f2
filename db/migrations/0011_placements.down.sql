alter table jobs drop column placement;
drop table resource_placements;
drop table cluster_resource_placements;
