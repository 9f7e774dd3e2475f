-- The yearly revenue from lines with less than the usual quantity of some items.
local query = statement([[
   select sum(ol_amount) / 2.0 as yearly
   from order_line
      join (
         select i_id as usual_i_id, avg(ol_quantity) as usual
         from item
            join order_line on ol_i_id = i_id
         where i_data like '%b'
         group by i_id
      ) u on usual_i_id = ol_i_id
   where ol_quantity < usual]])

function transaction()
   query()
end
