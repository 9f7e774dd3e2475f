-- What is to be read is read first, then all is written. An order with an item that does not exist is rolled back
-- after all the work.
local rollback = statement("rollback")
local select_warehouse = statement(
   "select w_tax from warehouse where w_id = :w", {w = "int"}, {w_tax = "decimal"})
local select_district = statement(
   "select d_tax, d_next_o_id from district where d_w_id = :w and d_id = :d for update",
   {w = "int", d = "int"}, {d_tax = "decimal", d_next_o_id = "int"})
local update_district = statement(
   "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = :w and d_id = :d",
   {w = "int", d = "int"})
local select_customer = statement([[
   select c_discount, c_last, c_credit from customer
   where c_w_id = :w and c_d_id = :d and c_id = :c]],
   {w = "int", d = "int", c = "int"}, {c_discount = "decimal"})
local insert_order = statement([[
   insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
   values (:o, :d, :w, :c, current_timestamp, :lines, :all_local)]],
   {o = "int", d = "int", w = "int", c = "int", lines = "int", all_local = "int"})
local insert_new_order = statement(
   "insert into new_order (no_o_id, no_d_id, no_w_id) values (:o, :d, :w)",
   {o = "int", d = "int", w = "int"})
local select_item = statement(
   "select i_price, i_name, i_data from item where i_id = :item",
   {item = "int"}, {i_price = "decimal"})
local update_stock = statement([[
   update stock set s_quantity = case when s_quantity >= :ordered + 10 then s_quantity - :ordered
         else s_quantity - :ordered + 91 end,
      s_ytd = s_ytd + :ordered, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :remote
   where s_w_id = :supply and s_i_id = :item]],
   {ordered = "int", remote = "int", supply = "int", item = "int"})
local insert_line = statement([[
   insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
      ol_amount, ol_dist_info)
   values (:o, :d, :w, :number, :item, :supply, :ordered, :amount, :info)]],
   {o = "int", d = "int", w = "int", number = "int", item = "int", supply = "int", ordered = "int",
    amount = "decimal", info = "text"})

-- Each district has its own column of information.
local select_stock = {}
for d = 1, 10 do
   local sql = [[
      select s_quantity, s_data, s_dist_%02d as s_dist from stock
      where s_w_id = :supply and s_i_id = :item for update]]
   select_stock[d] = statement(sql:format(d), {supply = "int", item = "int"}, {s_quantity = "int"})
end

-- Takes a line from the stock and adds it to the order; returns its amount.
local function order_line(line, number, o, d)
   send(update_stock, {
      ordered = line.ordered, remote = line.supply == home and 0 or 1, supply = line.supply,
      item = line.item,
   })
   local amount = line.ordered * math.floor(line.found[1].i_price * 100 + 0.5) / 100
   send(insert_line, {
      o = o, d = d, w = home, number = number, item = line.item, supply = line.supply,
      ordered = line.ordered, amount = amount, info = line.stock[1].s_dist,
   })
   return amount
end

function transaction()
   local order = entered_order()
   local d, c, lines = order.d, order.c, order.lines
   send(begin)
   local warehouse = ask(select_warehouse, {w = home})
   local district = ask(select_district, {w = home, d = d})
   send(update_district, {w = home, d = d})
   local customer = ask(select_customer, {w = home, d = d, c = c})
   for _, line in ipairs(lines) do
      line.found = ask(select_item, {item = line.item})
      line.stock = ask(select_stock[d], {supply = line.supply, item = line.item})
   end
   flush()
   local o, total = district[1].d_next_o_id, 0
   send(insert_order, {o = o, d = d, w = home, c = c, lines = #lines, all_local = order.all_local})
   send(insert_new_order, {o = o, d = d, w = home})
   for number, line in ipairs(lines) do
      if #line.found == 0 then
         rollback()
         return
      end
      total = total + order_line(line, number, o, d)
   end
   commit()
   return total * (1 - customer[1].c_discount) * (1 + warehouse[1].w_tax + district[1].d_tax)
end
