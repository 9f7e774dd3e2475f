-- What all scripts share: most transactions are those of a few hot customers, and know customers by name.
local commit = statement("commit")
local find = statement("select custid from accounts where name = :name", {name = "text"}, {custid = "int"})

local accesses, hot_accesses = counter("accesses"), counter("accesses of hot customers")

local function drawn()
   accesses()
   if random.uniform(1, 100) <= hot_percent then
      hot_accesses()
      return random.uniform(1, hot_customers)
   end
   return random.uniform(hot_customers + 1, customers)
end

-- Another customer than this one: the next if the same is drawn.
local function drawn_other(number)
   local other = drawn()
   return other ~= number and other or number % customers + 1
end

local function custid_of(number)
   return find {name = "customer-" .. number}[1].custid
end

-- Adds to two rows of checking in the order of their keys, so that two transactions cannot wait for each other.
local function add_in_order(add, one, other)
   if one.id > other.id then
      one, other = other, one
   end
   add(one)
   add(other)
end
