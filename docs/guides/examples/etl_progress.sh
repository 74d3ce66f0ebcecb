# Loads events/<day>/*.jsonl into events.db, one file after the other.
shopt -s nullglob
files=(events/"$ARG_day"/*.jsonl)
if [ "${#files[@]}" -eq 0 ]; then
  echo "there are no files in events/$ARG_day" >&2
  exit 3
fi
sqlite3 events.db 'CREATE TABLE IF NOT EXISTS event (day TEXT, body TEXT)'
bind=".parameter set @day \"'$ARG_day'\"" # with one pair of quotes it would be a difference of numbers
sqlite3 -cmd "$bind" events.db 'DELETE FROM event WHERE day = @day'
done=0
for file in "${files[@]}"; do
  jq -r --arg day "$ARG_day" '[$day, tojson] | @csv' "$file" | sqlite3 events.db -cmd '.mode csv' '.import /dev/stdin event'
  done=$((done + 1))
  echo "::progress $((100 * done / ${#files[@]})) $file" >&2
done
rows=$(sqlite3 -cmd "$bind" events.db 'SELECT count(*) FROM event WHERE day = @day')
printf '{"files": %d, "rows": %d}\n' "$done" "$rows"
