-- The oldest new order of each district is delivered, if there is one; all ten in one transaction of the database.
-- Where plain reads see what others have committed, a delivery that is later than another begins again.
local rollback = statement("rollback")
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

-- Takes the oldest new order of each of these districts in which one waits; returns them, or nothing if another
-- delivery was faster.
local function taken_orders(w, first, last)
   local oldest, orders = {}, {}
   for d = first, last do
      oldest[d] = ask(select_oldest, {w = w, d = d})
   end
   flush()
   for d = first, last do
      local key = {w = w, d = d, o = oldest[d][1].no_o_id}
      if key.o then
         orders[#orders + 1] = {
            key = key, deleted = ask(delete_new_order, key), found = ask(select_order, key),
            sum = ask(select_amount, key),
         }
      end
   end
   flush()
   for _, order in ipairs(orders) do
      if order.deleted.touched == 0 then
         return nil
      end
   end
   return orders
end

-- Delivers in all districts; returns in how many an order waited, or nothing if another delivery was faster. What is
-- locked is given up then: that deliveries lock districts in the same order is what keeps them from deadlocks.
local function deliver(w, carrier)
   local delivered = 0
   send(begin)
   for first = 1, 10, districts_at_once do
      local orders = taken_orders(w, first, first + districts_at_once - 1)
      if not orders then
         rollback()
         return nil
      end
      for _, order in ipairs(orders) do
         local d, o = order.key.d, order.key.o
         send(update_order, {w = w, d = d, o = o, carrier = carrier})
         send(update_lines, {w = w, d = d, o = o})
         send(update_customer, {w = w, d = d, c = order.found[1].o_c_id, amount = order.sum[1].amount})
      end
      delivered = delivered + #orders
   end
   commit()
   return delivered
end

function transaction()
   local w, carrier, delivered = warehouse_of_client(), random.uniform(1, 10), nil
   repeat
      delivered = deliver(w, carrier)
   until delivered
   count_skipping(delivered)
end
