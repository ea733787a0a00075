export const COMMANDS = {{ commands.table | tojson }};
