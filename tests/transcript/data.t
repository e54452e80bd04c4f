# warder data: tables that come inside of a conversation, as files.

= the text with a name in place of the table, and code that loads it
+ printf '{"messages": [[{"text": "Look:"}, {"mimeType": "text/csv", "content": "a,b\\n1,2\\n"}, {"mimeType": "image/png", "content": "iVBO", "encoding": "base64"}], [{"text": "Well?"}]]}' > talk.json
$ warder data talk.json
| Look:
| Available file: `data_1_2.csv`
| Well?
| 
| import csv
| 
| csv.field_size_limit(2**31 - 1)
| with open("data_1_2.csv", newline="", encoding="utf-8-sig", errors="replace") as file:
|     reader = csv.DictReader(file)
|     columns = reader.fieldnames or []
|     data_1_2 = list(reader)
| print("data_1_2.csv: %d rows, columns: %s" % (len(data_1_2), ", ".join(columns)))
| for row in data_1_2[:5]:
|     print(row)
| # Columns: a, b

= everything as JSON, from standard input, for pandas
+ printf '{"messages": [[{"text": "Look:"}, {"mimeType": "text/csv", "content": "a,b\\n1,2\\n"}, {"mimeType": "image/png", "content": "iVBO", "encoding": "base64"}], [{"text": "Well?"}]]}' > talk.json
$ warder data --json --pandas - < talk.json
| {"messages":[{"text":"Look:\nAvailable file: `data_1_2.csv`\n","encoding":"utf-8"},{"text":"Well?","encoding":"utf-8"}],"files":[{"message":0,"part":1,"name":"data_1_2.csv","content":"a,b\n1,2\n","encoding":"utf-8","variable":"data_1_2","snippet":"import pandas\n\ndata_1_2 = pandas.read_csv(\"data_1_2.csv\")\ndata_1_2.info()\nprint(data_1_2.head())\n# Columns: a, b\n","isStored":false,"isProcessed":false}]}

= a context remembers the tables
$ printf '{"messages": [[{"mimeType": "text/csv", "content": "a"}]], "context": {}}' | warder data --json | tee first | grep -o '"isStored".*'
| "isStored":false,"isProcessed":false}],"context":{"inputFiles":[{"name":"data_1_1.csv","contentType":"text/csv","content":"a","encoding":"utf-8"}],"processedFiles":[],"errorCounts":{},"results":{}},"contextDelta":{"inputFiles":[{"name":"data_1_1.csv","contentType":"text/csv","content":"a","encoding":"utf-8"}]}}

= known tables are not announced again, and loaded tables are not loaded again
+ printf '{"messages": [[{"mimeType": "text/csv", "content": "a"}]], "context": {"inputFiles": [{"name": "data_1_1.csv", "content": "a"}], "processedFiles": ["data_1_1.csv"]}}' > known.json
$ warder data --json known.json | grep -o '"isStored[^}]*}\|"contextDelta.*'; warder data known.json
| "isStored":true,"isProcessed":true}
| "contextDelta":{}}
| 
| Available file: `data_1_1.csv`

= the files and the code make a request
needs python3 limits
+ printf '{"messages": [[{"text": "Look:"}, {"mimeType": "text/csv", "content": "a,b\\n1,2\\n"}, {"mimeType": "image/png", "content": "iVBO", "encoding": "base64"}], [{"text": "Well?"}]]}' > talk.json
$ warder data --json talk.json | python3 -c 'import json, sys; file = json.load(sys.stdin)["files"][0]; print(json.dumps({"language": "python", "code": file["snippet"], "files": [{key: file[key] for key in ("name", "content", "encoding")}]}))' | warder tool | python3 $TOP/tests/lib/results.py status stdout.text
| success "data_1_2.csv: 1 rows, columns: a, b\n{'a': '1', 'b': '2'}\n"

= a table that is not text
$ printf '{"messages": [[{"mimeType": "text/csv", "content": "/w==", "encoding": "base64"}]]}' | warder data --json | grep -o '"name.*variable'
| "name":"data_1_1.csv","base64":"/w==","encoding":"base64","variable

= refused
$ echo '{"messages": [[{"mimetype": "text/csv", "content": ""}]]}' | warder data; echo '{"messages": [[{}]]}' | warder data --json; warder data a b; warder data --panda; head -c 16777217 /dev/zero | warder data
! warder: conversation:1: messages[0][0].mimetype: unknown key; did you mean "mimeType"?
|~ "message":"conversation:1: messages\[0\]\[0\]: a part has one of text and content"
! warder: b is one file too many; give one
! warder: unknown flag --panda; did you mean "--pandas"?
! warder: - is larger than 16 MiB
? 125

= nowhere to write
+ printf '{"messages": [[{"text": "Look:"}, {"mimeType": "text/csv", "content": "a,b\\n1,2\\n"}, {"mimeType": "image/png", "content": "iVBO", "encoding": "base64"}], [{"text": "Well?"}]]}' > talk.json
$ warder data talk.json > /dev/full
! warder: standard output cannot be written: No space left on device
? 125
