drop table disruption_budgets;
drop table cluster_disruption_budgets;
drop table placement_evictions;
drop table cluster_placement_evictions;
