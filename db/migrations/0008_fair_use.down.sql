drop table fair_use;
