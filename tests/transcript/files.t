# Files that code leaves, and what is told of those that are not kept.
needs limits place

= files go into the directory that is named
+ mkdir art
$ echo 'echo one >a.txt; mkdir d; echo two >d/b.txt' | warder code --language sh --artifacts art - && find art -type f | sort && cat art/d/b.txt
| art/a.txt
| art/d/b.txt
| two

= an existing file is not overwritten, and this is reported
+ mkdir art; echo old >art/a.txt
$ echo 'echo new >a.txt; echo more >b.txt' | warder code --language sh --artifacts art -; echo $?; cat art/*
| 125
| old
| more
! warder: "a.txt" is not kept: a file of that name is there already

= a file that is too large is not kept, and this is reported
+ mkdir art
$ echo 'head -c 5000000 /dev/zero >big' | warder code --language sh --artifacts art -; echo $?; ls art
| 125
! warder: "big" is not kept: it is larger than the limit of a file
! warder: files are missing: there is a limit of their number, of the size of each and of all

= the program's own exit status comes first
+ mkdir art; echo old >art/a.txt
$ echo 'echo new >a.txt; exit 3' | warder code --language sh --artifacts art -
! warder: "a.txt" is not kept: a file of that name is there already
? 3

= a link among the artifacts is not followed
+ mkdir art other; ln -s ../other art/d
$ echo 'mkdir d; echo x >d/a' | warder code --language sh --artifacts art -; ls other
! warder: "d/a" is not kept: it cannot be saved

= links, pipes and hidden files are not taken
+ mkdir art
$ echo 'ln -s /etc/passwd l; mkfifo p; echo h >.h; echo f >f' | warder code --language sh --artifacts art -; ls -A art
| f

= a file that is given by another spelling of its path is known again
+ mkdir art; echo given >d.txt
$ echo 'cat d.txt e.txt' | warder code --language sh --file d.txt=./d.txt --file d.txt=x/../e.txt --artifacts art -; ls -A art
| given
| given

= two names that are not UTF-8 stay distinct
$ echo 'touch "$(printf "a\377")" "$(printf "a\376")"' | warder code --language sh --json - | python3 $TOP/tests/lib/results.py artifacts.0.nameBase64 artifacts.1.nameBase64
| Yf4= Yf8=

= a name that is UTF-8 is printed once
$ echo 'touch ä' | warder code --language sh --json - | python3 $TOP/tests/lib/results.py artifacts.0.name artifacts.0.nameBase64
| ä -
