-- What all scripts share. A number that is looked up in vain is a result: what a transaction of several statements has
-- begun is then rolled back.
local function drawn_subscriber()
   return random.nurand(nurand_a, 0, 1, subscribers)
end

local function sub_nbr_of(s_id)
   return ("%015d"):format(s_id)
end

-- When a forwarded call begins: at night, in the morning or in the afternoon.
local function drawn_start()
   return 8 * random.uniform(0, 2)
end

-- When it ends: at any hour, also before it begins; such a forwarding is never used.
local function drawn_end()
   return random.uniform(1, 24)
end
