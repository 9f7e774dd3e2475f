-- How many suppliers without complaints have items of a kind and price.
local query = statement([[
   select i_name, substr(i_data, 1, 3) as brand, i_price, count(distinct su_suppkey) as suppliers
   from stock
      join item on i_id = s_i_id
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
   where i_data not like 'zz%'
      and su_suppkey not in (select su_suppkey from supplier where su_comment like '%Complaints%')
   group by i_name, substr(i_data, 1, 3), i_price
   order by suppliers desc, i_name, brand, i_price
   limit 100]])

function transaction()
   query()
end
