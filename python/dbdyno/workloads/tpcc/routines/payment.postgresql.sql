create or replace function dbdyno_payment(
    w int, d int, customer_w int, customer_d int, customer_id int, name text, paid decimal,
    out id int, out first_name text, out middle text, out last_name text, out street_1 text,
    out street_2 text, out city text, out state text, out zip text, out phone text,
    out since timestamp, out credit text, out credit_limit decimal, out discount decimal,
    out balance decimal)
language plpgsql as $$
declare
    warehouse record;
    district_row record;
    among int := 1;
    old text;
begin
    paid := paid::decimal(6,2);
    update warehouse set w_ytd = w_ytd + paid where w_id = w;
    select w_name, w_street_1, w_street_2, w_city, w_state, w_zip into warehouse from warehouse
    where w_id = w;
    update district set d_ytd = d_ytd + paid where d_w_id = w and d_id = d;
    select d_name, d_street_1, d_street_2, d_city, d_state, d_zip into district_row from district
    where d_w_id = w and d_id = d;
    if name is not null then
        select count(*) into among from customer
        where c_w_id = customer_w and c_d_id = customer_d and c_last = name;
        select c_id into customer_id from customer
        where c_w_id = customer_w and c_d_id = customer_d and c_last = name
        order by c_first limit 1 offset (among - 1) / 2;
    end if;
    select c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since, c_credit, c_credit_lim, c_discount, c_balance
    into id, first_name, middle, last_name, street_1, street_2, city, state, zip, phone,
        since, credit, credit_limit, discount, balance
    from customer where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id;
    if credit = 'BC' then
        select c_data into old from customer
        where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id for update;
        update customer set c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = left(concat_ws(' ', id, customer_d, customer_w, d, w, paid, old), 500)
        where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id;
    else
        update customer set c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
            c_payment_cnt = c_payment_cnt + 1
        where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id;
    end if;
    insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (customer_id, customer_d, customer_w, d, w, current_timestamp, paid,
        warehouse.w_name || '    ' || district_row.d_name);
end
$$
