\sleep 10 ms
select 1;
