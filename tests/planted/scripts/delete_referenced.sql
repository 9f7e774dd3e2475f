\set id random(20001, 2000000000)
insert into planted values (:id, 0, '');
delete from planted where id = :id;
