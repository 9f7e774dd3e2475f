\set id random(1, 20000)
select planted_value(:id);
