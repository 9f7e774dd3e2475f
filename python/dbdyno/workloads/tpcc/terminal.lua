-- What all scripts share. A client is a terminal: it belongs to one warehouse and one district, and each
-- warehouse has as many clients as the others, or one more.
local function warehouse_of_client()
   return client_id % scale + 1
end

local home = warehouse_of_client()
local home_district = math.floor(client_id / scale) % 10 + 1
local all_lines, remote_lines = counter("lines"), counter("remote lines")
local remote_payments = counter("remote payments")
local payments_by_name = counter("payment by last name")
local skipping_deliveries = counter("skipping deliveries")
local order_status_by_name = counter("order-status by last name")

-- Whether something happens that has this chance in a hundred.
local function in_percent(chance)
   return random.uniform(1, 100) <= chance
end

-- Another warehouse than home, each as likely; home if there is no other.
local function other_warehouse()
   if scale == 1 then
      return home
   end
   local other = random.uniform(1, scale - 1)
   return other < home and other or other + 1
end

local function drawn_customer()
   return random.nurand(1023, c_id, 1, 3000)
end

local function drawn_last_name()
   return last_name(random.nurand(255, c_last, 0, 999))
end

-- Of those with the same last name, by first name: the one in the middle.
local function middle(rows)
   return rows[math.ceil(#rows / 2)]
end

-- A customer is found by last name 60 times in a hundred, else by number: returns the one or the other.
local function drawn_name_or_customer(by_name)
   if in_percent(60) then
      by_name()
      return drawn_last_name(), nil
   end
   return nil, drawn_customer()
end

-- A delivery delivers an order of each district, unless none waits there.
local function count_skipping(delivered)
   if delivered < 10 then
      skipping_deliveries()
   end
end

-- An order of 5 to 15 lines, by item: so stock is locked in an order in which orders do not deadlock. One in a
-- hundred asks for an item that does not exist, as its last.
local function entered_order()
   local order = {d = random.uniform(1, 10), c = drawn_customer(), all_local = 1, lines = {}}
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
         order.all_local = 0
         remote_lines()
      end
      order.lines[number] = {item = item, supply = supply, ordered = random.uniform(1, 10)}
   end
   table.sort(order.lines, function(one, other)
      if one.item ~= other.item then
         return one.item < other.item
      end
      return one.supply < other.supply
   end)
   return order
end

-- A payment, of a customer of the home warehouse, or 15 times in a hundred of another.
local function entered_payment()
   local d, amount = random.uniform(1, 10), random.uniform(100, 500000) / 100
   local payment = {d = d, amount = amount, c_w = home, c_d = d}
   if in_percent(15) and scale > 1 then
      payment.c_w, payment.c_d = other_warehouse(), random.uniform(1, 10)
      remote_payments()
   end
   payment.name, payment.c = drawn_name_or_customer(payments_by_name)
   return payment
end
