# The examples of documents, as they are printed there.

needs limits place python3 curl

= every example of README prints what it shows
$ "$TOP"/tests/transcript/readme.sh "$TOP"/README.md
| 6 examples

= every example of docs/from-other-systems.md prints what it shows
$ "$TOP"/tests/transcript/readme.sh "$TOP"/docs/from-other-systems.md
| 4 examples
