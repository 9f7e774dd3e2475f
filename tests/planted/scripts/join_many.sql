\set id random(1, 1000)
select a.value from planted a
    join planted b on b.id = a.value
    join planted c on c.id = b.value
    join planted d on d.id = c.value
    join planted e on e.id = d.value
    join planted f on f.id = e.value
    join planted g on g.id = f.value
    join planted h on h.id = g.value
    join planted i on i.id = h.value
    join planted j on j.id = i.value
    join planted k on k.id = j.value
    join planted l on l.id = k.value
    where a.id = :id;
