# A notebook's worth of pieces: what somebody types who looks at a table. Lines that begin with "nb:" are values that the context reports.

= read a table, sum it up, draw it, ask, make a mistake, and go on
needs notebook
+ . "$TOP/tests/transcript/context.sh"
+ printf 'city,day,units\nOslo,Mon,3\nRome,Mon,5\nOslo,Tue,4\nRome,Tue,1\n' > sales.csv
$ sh s start --ro /etc/matplotlibrc; sh s write sales.csv < sales.csv; sh c create nb
> sh c run nb -c 'import pandas as pd; sales = pd.read_csv("/tmp/sales.csv"); sales'
> sh c run nb -c 'totals = sales.groupby("city").units.sum(); print("best:", totals.idxmax()); totals.to_dict()'
> sh c run nb -c 'import matplotlib.pyplot as plt; axes = totals.plot.bar(title="units")'
> echo Rome | sh c run nb -c 'sales[sales.city == input("which city?\n")]'
> sh c run nb -c 'sales.price.sum()' 2>&1 | tail -1
> sh c run nb -c 'sales["price"] = 2 * sales.units; sales.to_csv("/tmp/priced.csv", index=False); sales.price.mean()'
> sh s read priced.csv; sh s stop
| nb:
|    city  day  units
| 0  Oslo  Mon      3
| 1  Rome  Mon      5
| 2  Oslo  Tue      4
| 3  Rome  Tue      1
| best: Oslo
| nb: {'Oslo': 7, 'Rome': 6}
| nb: <Figure size 640x480 with 1 Axes>
| which city?
| nb:
|    city  day  units
| 1  Rome  Mon      5
| 3  Rome  Tue      1
| AttributeError: 'DataFrame' object has no attribute 'price'
| nb: 6.5
| city,day,units,price
| Oslo,Mon,3,6
| Rome,Mon,5,10
| Oslo,Tue,4,8
| Rome,Tue,1,2
!*

= in JSON, a table is also HTML, and a figure is a PNG
needs notebook
+ . "$TOP/tests/transcript/context.sh"
$ sh s start --ro /etc/matplotlibrc; sh c create nb; sh c run nb --json -c 'import pandas, matplotlib.pyplot as plt; figure = plt.figure(); axes = figure.add_subplot(); line = axes.plot([1, 4, 9]); pandas.DataFrame({"n": [1, 2]})' > result; sh s stop; python3 -c '
> import base64, json; says = json.load(open("result"))["contextSays"]
> print(sorted(says["value"])); print("<td>2</td>" in says["value"]["text/html"])
> print([sorted(shown) for shown in says["shown"]]); print(base64.b64decode(says["shown"][0]["image/png"])[1:4])'
| ['text/html', 'text/plain']
| True
| [['image/png', 'text/plain']]
| b'PNG'
!*
