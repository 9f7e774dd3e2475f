\set id random(1, 100)
select filler from planted where id between :id and :id + 9;
