create procedure dbdyno_payment(
    w int, d int, customer_w int, customer_d int, customer_id int, name text, paid decimal(6,2))
begin
    declare among, skipped int default 0;
    declare warehouse_name, district_name, street_1, street_2, city, state, zip, old text;
    start transaction;
    update warehouse set w_ytd = w_ytd + paid where w_id = w;
    select w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    into warehouse_name, street_1, street_2, city, state, zip from warehouse where w_id = w;
    update district set d_ytd = d_ytd + paid where d_w_id = w and d_id = d;
    select d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    into district_name, street_1, street_2, city, state, zip from district
    where d_w_id = w and d_id = d;
    if name is not null then
        select count(*) into among from customer
        where c_w_id = customer_w and c_d_id = customer_d and c_last = name;
        set skipped = (among - 1) div 2;
        select c_id into customer_id from customer
        where c_w_id = customer_w and c_d_id = customer_d and c_last = name
        order by c_first limit skipped, 1;
    end if;
    select c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since, c_credit, c_credit_lim, c_discount, c_balance
    from customer where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id;
    select c_data into old from customer
    where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id and c_credit = 'BC'
    for update;
    if old is not null then
        update customer set c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = left(concat_ws(' ', customer_id, customer_d, customer_w, d, w, paid, old), 500)
        where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id;
    else
        update customer set c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
            c_payment_cnt = c_payment_cnt + 1
        where c_w_id = customer_w and c_d_id = customer_d and c_id = customer_id;
    end if;
    insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (customer_id, customer_d, customer_w, d, w, current_timestamp, paid,
        concat(warehouse_name, '    ', district_name));
    commit;
end
