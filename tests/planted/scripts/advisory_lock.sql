\set id random(1, 20000)
begin;
select pg_advisory_xact_lock(1);
update planted set value = value + 1 where id = :id;
commit;
