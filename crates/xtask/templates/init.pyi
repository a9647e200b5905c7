
{{functions}}
