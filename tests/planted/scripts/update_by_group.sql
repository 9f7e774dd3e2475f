\set part random(0, 19)
begin;
update planted set value = value + 1 where part = :part;
select 1;
commit;
