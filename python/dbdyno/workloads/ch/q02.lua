-- Suppliers of a region that have the least of an item in stock there.
local query = statement([[
   select su_suppkey, su_name, n_name, i_id, i_name, su_address, su_phone, su_comment
   from stock
      join item on i_id = s_i_id
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
      join nation on n_nationkey = su_nationkey
      join region on r_regionkey = n_regionkey
      join (
         select s_i_id as least_i_id, min(s_quantity) as least
         from stock
            join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
            join nation on n_nationkey = su_nationkey
            join region on r_regionkey = n_regionkey
         where r_name = 'Europe'
         group by s_i_id
      ) l on least_i_id = s_i_id and least = s_quantity
   where i_data like '%b' and r_name = 'Europe'
   order by n_name, su_name, i_id
   limit 100]])

function transaction()
   query()
end
