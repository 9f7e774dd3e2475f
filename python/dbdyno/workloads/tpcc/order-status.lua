-- What has become of a customer's last order. The customer is found by last name 60 times in a hundred.
local by_name = counter("order-status by last name")
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
   local d, name, c = random.uniform(1, 10), nil, nil
   if in_percent(60) then
      name = drawn_last_name()
      by_name()
   else
      c = drawn_customer()
   end
   begin()
   local customer
   if name then
      customer = middle(select_by_name {w = home, d = d, name = name})
   else
      customer = select_by_id {w = home, d = d, c = c}[1]
   end
   local order = select_order {w = home, d = d, c = customer.c_id}[1]
   select_lines {w = home, d = d, o = order.o_id}
   commit()
end
