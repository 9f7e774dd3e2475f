-- How many items of the last 20 orders of the client's own district are low in stock.
local select_district = statement(
   "select d_next_o_id from district where d_w_id = :w and d_id = :d",
   {w = "int", d = "int"}, {d_next_o_id = "int"})
local count_low = statement([[
   select count(distinct s_i_id) as low from order_line join stock on s_i_id = ol_i_id
   where ol_w_id = :w and ol_d_id = :d and ol_o_id < :o and ol_o_id >= :oldest
      and s_w_id = :w and s_quantity < :threshold]],
   {w = "int", d = "int", o = "int", oldest = "int", threshold = "int"})

function transaction()
   local threshold = random.uniform(10, 20)
   send(begin)
   local district = ask(select_district, {w = home, d = home_district})
   flush()
   local o = district[1].d_next_o_id
   ask(count_low, {w = home, d = home_district, o = o, oldest = o - 20, threshold = threshold})
   commit()
end
