-- What all scripts share: which key is next, and what a record looks like as columns or as a document.
--
-- Loaded records have the numbers from 0 on. Each client inserts into a sequence of its own, LANES apart, behind all
-- that are loaded: so no two clients meet, whatever their number is, and a later run continues.
local LANES = 65536
local ITEMS = 10000000000 -- of which the scrambled ranks are drawn, however many records there are
local FIELDS = 10

local count_key = statement("select count(*) as n from usertable where ycsb_key = :key", {key = key_type}, {n = "int"})

local function key_of(number)
   return key_type == "text" and "user" .. hash(number) or number
end

local function own(place)
   return record_count + client_id + place * LANES
end

local function exists(place)
   return count_key {key = key_of(own(place))}[1].n == 1
end

-- How many records this client has inserted; those of earlier runs are looked for once.
local function inserted()
   if not _G.inserted then
      local beyond = 1
      while exists(beyond - 1) do
         beyond = beyond * 2
      end
      local low, high = math.floor(beyond / 2), beyond - 1 -- at least low, at most high
      while low < high do
         local middle = math.floor((low + high) / 2)
         if exists(middle) then
            low = middle + 1
         else
            high = middle
         end
      end
      _G.inserted = low
   end
   return _G.inserted
end

-- The number of the record that was added so long ago, of those that this client knows.
local function record_of_age(age)
   local own_records = inserted()
   if age < own_records then
      return own(own_records - 1 - age)
   end
   return record_count - 1 - (age - own_records)
end

local draws = {}
local zipfian_draws, first_ranks = counter("zipfian draws"), counter("draws of the first rank")

function draws.zipfian()
   local rank = random.zipf(0, ITEMS - 1, zipf_percent / 100)
   zipfian_draws()
   if rank == 0 then
      first_ranks()
   end
   return hash(rank, record_count)
end

function draws.latest()
   return record_of_age(random.zipf(0, record_count + inserted() - 1, zipf_percent / 100))
end

function draws.uniform()
   return random.uniform(0, record_count - 1)
end

function draws.hotspot()
   local hot = math.max(1, math.floor(record_count * hot_data_percent / 100))
   if hot == record_count or random.uniform(1, 100) <= hot_operations_percent then
      return random.uniform(0, hot - 1)
   end
   return random.uniform(hot, record_count - 1)
end

-- 95 of 100 draws are of the newest 6/7 of the records.
function draws.exponential()
   local scale = record_count * 6 / 7 / -math.log(0.05)
   local age
   repeat
      age = math.floor(-math.log(1 - random.fraction()) * scale)
   until age < record_count
   return record_count - 1 - age
end

local drawn = draws[distribution]

local function drawn_key()
   return key_of(drawn())
end

local function drawn_field()
   return random.uniform(0, FIELDS - 1)
end

local function drawn_text()
   return random.text(100, 100)
end

local function drawn_texts()
   local texts = {}
   for place = 0, FIELDS - 1 do
      texts["field" .. place] = drawn_text()
   end
   return texts
end

-- The parameters of a statement that writes a whole record, and of one that writes a field.
local record_types = {key = key_type}
for place = 0, FIELDS - 1 do
   record_types["field" .. place] = form == "columns" and "text" or nil
end
record_types.doc = form == "json" and "json" or nil

local function written_record(key)
   local texts = drawn_texts()
   if form == "columns" then
      texts.key = key
      return texts
   end
   local members = {}
   for place = 0, FIELDS - 1 do
      members[place + 1] = ('"field%d": "%s"'):format(place, texts["field" .. place])
   end
   return {key = key, doc = "{" .. table.concat(members, ", ") .. "}"}
end

-- SQL for all fields: their names, and what each is set to.
local function of_fields(pattern)
   if form == "json" then
      return (pattern:gsub("field%%d", "doc"))
   end
   local parts = {}
   for place = 0, FIELDS - 1 do
      parts[place + 1] = pattern:gsub("%%d", place)
   end
   return table.concat(parts, ", ")
end

-- A statement for each field, by its number.
local function of_each_field(declare)
   local statements = {}
   for place = 0, FIELDS - 1 do
      statements[place] = declare(place)
   end
   return statements
end
