-- What all scripts share. A client is a terminal: it belongs to one warehouse and one district, and each
-- warehouse has as many clients as the others, or one more.
local home = client_id % scale + 1
local home_district = math.floor(client_id / scale) % 10 + 1
local begin, commit = statement("begin"), statement("commit")

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
