-- How many customers have how many orders with some carriers.
local query = statement([[
   select order_count, count(*) as customers
   from (
      select c_w_id, c_d_id, c_id, count(o_id) as order_count
      from customer
         left join orders on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_carrier_id > 8
      group by c_w_id, c_d_id, c_id
   ) c
   group by order_count
   order by customers desc, order_count desc]])

function transaction()
   query()
end
