-- An order of 5 to 15 lines. One in a hundred asks for an item that does not exist, as its last: it is rolled
-- back after all the work. Stock is locked in the order of the items, so that orders do not deadlock.
local all_lines, remote_lines = counter("lines"), counter("remote lines")
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
   update stock set s_quantity = :quantity, s_ytd = s_ytd + :ordered, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + :remote
   where s_w_id = :supply and s_i_id = :item]],
   {quantity = "int", ordered = "int", remote = "int", supply = "int", item = "int"})
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

-- The lines to order, by item, and whether all are supplied from home.
local function drawn_lines()
   local lines, all_local = {}, 1
   local count, has_unused_item = random.uniform(5, 15), in_percent(1)
   all_lines(count)
   for number = 1, count do
      local item, supply = random.nurand(8191, c_item, 1, 100000), home
      if in_percent(1) then
         supply = other_warehouse()
      end
      if has_unused_item and number == count then
         item = 100001
      end
      if supply ~= home then
         all_local = 0
         remote_lines()
      end
      lines[number] = {item = item, supply = supply, ordered = random.uniform(1, 10)}
   end
   table.sort(lines, function(one, other)
      if one.item ~= other.item then
         return one.item < other.item
      end
      return one.supply < other.supply
   end)
   return lines, all_local
end

-- Takes a line from the stock and adds it to the order; returns its amount, or nothing if there is no such item.
local function order_line(line, number, o, d)
   local item = select_item {item = line.item}[1]
   if not item then
      return nil
   end
   local stock = select_stock[d] {supply = line.supply, item = line.item}[1]
   local left = stock.s_quantity - line.ordered
   update_stock {
      quantity = left >= 10 and left or left + 91, ordered = line.ordered,
      remote = line.supply == home and 0 or 1, supply = line.supply, item = line.item,
   }
   local amount = line.ordered * math.floor(item.i_price * 100 + 0.5) / 100
   insert_line {
      o = o, d = d, w = home, number = number, item = line.item, supply = line.supply,
      ordered = line.ordered, amount = amount, info = stock.s_dist,
   }
   return amount
end

function transaction()
   local d, c = random.uniform(1, 10), drawn_customer()
   local lines, all_local = drawn_lines()
   begin()
   local warehouse = select_warehouse {w = home}[1]
   local district = select_district {w = home, d = d}[1]
   local o = district.d_next_o_id
   update_district {w = home, d = d}
   local customer = select_customer {w = home, d = d, c = c}[1]
   insert_order {o = o, d = d, w = home, c = c, lines = #lines, all_local = all_local}
   insert_new_order {o = o, d = d, w = home}
   local total = 0
   for number, line in ipairs(lines) do
      local amount = order_line(line, number, o, d)
      if not amount then
         rollback()
         return
      end
      total = total + amount
   end
   commit()
   return total * (1 - customer.c_discount) * (1 + warehouse.w_tax + district.d_tax)
end
