-- What has become of the last order of a customer, who is found by number or by last name.
local select_by_name = statement([[
   select c_id, c_first, c_middle, c_last, c_balance from customer
   where c_w_id = :w and c_d_id = :d and c_last = :name order by c_first]],
   {w = "int", d = "int", name = "text"}, {c_id = "int"})
local select_by_id = statement([[
   select c_id, c_first, c_middle, c_last, c_balance from customer
   where c_w_id = :w and c_d_id = :d and c_id = :c]],
   {w = "int", d = "int", c = "int"}, {c_id = "int"})
local select_order = statement([[
   select o_id, o_entry_d, o_carrier_id from orders
   where o_w_id = :w and o_d_id = :d and o_c_id = :c and o_id = (
      select max(o_id) from orders where o_w_id = :w and o_d_id = :d and o_c_id = :c)]],
   {w = "int", d = "int", c = "int"}, {o_id = "int"})
local select_lines = statement([[
   select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
   where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o]],
   {w = "int", d = "int", o = "int"})

function transaction()
   local d = random.uniform(1, 10)
   local name, c = drawn_name_or_customer(order_status_by_name)
   send(begin)
   local customers
   if name then
      customers = ask(select_by_name, {w = home, d = d, name = name})
   else
      customers = ask(select_by_id, {w = home, d = d, c = c})
   end
   flush()
   local orders = ask(select_order, {w = home, d = d, c = middle(customers).c_id})
   flush()
   ask(select_lines, {w = home, d = d, o = orders[1].o_id})
   commit()
end
