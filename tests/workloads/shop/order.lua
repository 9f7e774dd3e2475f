-- A new order: its lines are sent together, in a pipeline where the server has them.
local begin, commit = statement("begin"), statement("commit")
local customer = statement(
   "select c_last, c_balance, c_good from shop_customer where c_w_id = :w and c_id = :c",
   {w = "int", c = "int"}, {c_balance = "decimal", c_good = "boolean"})
local price = statement("select i_price from shop_item where i_id = :item",
                        {item = "bigint"}, {i_price = "decimal"})
local add_order = statement(
   "insert into shop_order (o_w_id, o_id, o_c_id, o_ol_cnt) values (:w, :o, :c, :lines)",
   {w = "int", o = "int", c = "int", lines = "int"})
local add_line = statement([[
   insert into shop_line (l_w_id, l_o_id, l_number, l_i_id, l_info)
   values (:w, :o, :number, :item, :info)]],
   {w = "int", o = "int", number = "int", item = "bigint", info = "text"})

local orders = 0

function transaction()
   local w, c = random.uniform(1, scale), random.nurand(255, 7, 1, customers)
   local order, lines = 1000 + client_id * 1000000 + orders, random.uniform(5, 15)
   begin()
   local found = customer {w = w, c = c}
   assert(#found == 1 and type(found[1].c_balance) == "number")
   assert(type(found[1].c_good) == "boolean" and type(found[1].c_last) == "string")
   add_order {w = w, o = order, c = c, lines = lines}
   for number = 1, lines do
      local item = random.zipf(1, items, 0.99)
      assert(price {item = item}[1].i_price >= 1)
      add_line:queue {w = w, o = order, number = number, item = item, info = random.text(10, 24)}
   end
   flush()
   commit()
   orders = orders + 1 -- not before: a transaction that is tried again begins anew
end
