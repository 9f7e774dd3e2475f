-- The oldest new order of each district is delivered, if there is one; all ten in one transaction of the database.
-- Where plain reads see what others have committed, a delivery that is later than another looks again.
local select_oldest = statement(
   "select min(no_o_id) as no_o_id from new_order where no_w_id = :w and no_d_id = :d" .. read_latest,
   {w = "int", d = "int"}, {no_o_id = "int"})
local delete_new_order = statement(
   "delete from new_order where no_w_id = :w and no_d_id = :d and no_o_id = :o",
   {w = "int", d = "int", o = "int"})
local select_order = statement(
   "select o_c_id from orders where o_w_id = :w and o_d_id = :d and o_id = :o",
   {w = "int", d = "int", o = "int"}, {o_c_id = "int"})
local update_order = statement([[
   update orders set o_carrier_id = :carrier where o_w_id = :w and o_d_id = :d and o_id = :o]],
   {w = "int", d = "int", o = "int", carrier = "int"})
local update_lines = statement([[
   update order_line set ol_delivery_d = current_timestamp
   where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o]],
   {w = "int", d = "int", o = "int"})
local select_amount = statement([[
   select sum(ol_amount) as amount from order_line
   where ol_w_id = :w and ol_d_id = :d and ol_o_id = :o]],
   {w = "int", d = "int", o = "int"}, {amount = "decimal"})
local update_customer = statement([[
   update customer set c_balance = c_balance + cast(:amount as decimal(12,2)),
      c_delivery_cnt = c_delivery_cnt + 1
   where c_w_id = :w and c_d_id = :d and c_id = :c]],
   {w = "int", d = "int", c = "int", amount = "decimal"})

-- Takes the oldest new order of a district; returns its number, customer and amount, or nothing if none waits.
local function take_oldest(w, d)
   while true do
      local oldest = ask(select_oldest, {w = w, d = d})
      flush()
      local o = oldest[1].no_o_id
      if not o then
         return nil
      end
      local deleted = ask(delete_new_order, {w = w, d = d, o = o})
      local orders = ask(select_order, {w = w, d = d, o = o})
      local amounts = ask(select_amount, {w = w, d = d, o = o})
      flush()
      if deleted.touched == 1 then
         return o, orders[1].o_c_id, amounts[1].amount
      end
   end
end

function transaction()
   local w, carrier, delivered = warehouse_of_client(), random.uniform(1, 10), 0
   send(begin)
   for d = 1, 10 do
      local o, c, amount = take_oldest(w, d)
      if o then
         send(update_order, {w = w, d = d, o = o, carrier = carrier})
         send(update_lines, {w = w, d = d, o = o})
         send(update_customer, {w = w, d = d, c = c, amount = amount})
         delivered = delivered + 1
      end
   end
   commit()
   count_skipping(delivered)
end
