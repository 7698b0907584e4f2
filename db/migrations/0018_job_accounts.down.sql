alter table jobs drop column account_uid;
