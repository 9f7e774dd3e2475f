-- A customer pays, who is found by number or by last name.
local select_warehouse = statement([[
   select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse where w_id = :w]],
   {w = "int"})
local update_warehouse = statement(
   "update warehouse set w_ytd = w_ytd + cast(:amount as decimal(12,2)) where w_id = :w",
   {w = "int", amount = "decimal"})
local select_district = statement([[
   select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district
   where d_w_id = :w and d_id = :d]],
   {w = "int", d = "int"})
local update_district = statement([[
   update district set d_ytd = d_ytd + cast(:amount as decimal(12,2))
   where d_w_id = :w and d_id = :d]],
   {w = "int", d = "int", amount = "decimal"})
local shown = [[
   c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
   c_credit, c_credit_lim, c_discount, c_balance]]
local select_by_name = statement("select " .. shown .. [[
   from customer where c_w_id = :w and c_d_id = :d and c_last = :name order by c_first]],
   {w = "int", d = "int", name = "text"}, {c_id = "int"})
local select_by_id = statement("select " .. shown .. [[
   from customer where c_w_id = :w and c_d_id = :d and c_id = :c]],
   {w = "int", d = "int", c = "int"}, {c_id = "int"})
local select_data = statement([[
   select c_data from customer where c_w_id = :w and c_d_id = :d and c_id = :c for update]],
   {w = "int", d = "int", c = "int"})
local pays = [[
   update customer set c_balance = c_balance - cast(:amount as decimal(12,2)),
      c_ytd_payment = c_ytd_payment + cast(:amount as decimal(12,2)),
      c_payment_cnt = c_payment_cnt + 1]]
local key = " where c_w_id = :w and c_d_id = :d and c_id = :c"
local update_customer = statement(pays .. key, {w = "int", d = "int", c = "int", amount = "decimal"})
local update_customer_of_bad_credit = statement(pays .. ", c_data = :data" .. key,
   {w = "int", d = "int", c = "int", amount = "decimal", data = "text"})
local insert_history = statement([[
   insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
   values (:c, :c_d, :c_w, :d, :w, current_timestamp, :amount, :data)]],
   {c = "int", c_d = "int", c_w = "int", d = "int", w = "int", amount = "decimal", data = "text"})

function transaction()
   local payment = entered_payment()
   local d, c_w, c_d, amount = payment.d, payment.c_w, payment.c_d, payment.amount
   send(begin)
   send(update_warehouse, {w = home, amount = amount})
   local warehouse = ask(select_warehouse, {w = home})
   send(update_district, {w = home, d = d, amount = amount})
   local district = ask(select_district, {w = home, d = d})
   local customers
   if payment.name then
      customers = ask(select_by_name, {w = c_w, d = c_d, name = payment.name})
   else
      customers = ask(select_by_id, {w = c_w, d = c_d, c = payment.c})
   end
   flush()
   local customer = middle(customers)
   local c = customer.c_id
   if customer.c_credit == "BC" then
      local old = ask(select_data, {w = c_w, d = c_d, c = c})
      flush()
      local noted = ("%d %d %d %d %d %.2f "):format(c, c_d, c_w, d, home, amount)
      send(update_customer_of_bad_credit, {
         w = c_w, d = c_d, c = c, amount = amount, data = (noted .. old[1].c_data):sub(1, 500),
      })
   else
      send(update_customer, {w = c_w, d = c_d, c = c, amount = amount})
   end
   send(insert_history, {
      c = c, c_d = c_d, c_w = c_w, d = d, w = home, amount = amount,
      data = warehouse[1].w_name .. "    " .. district[1].d_name,
   })
   commit()
end
