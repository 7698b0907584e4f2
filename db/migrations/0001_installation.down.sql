drop function muster_expect(bigint, bigint, text);
drop function muster_fence(bigint, bigint);
drop table leader;
drop table installation;
