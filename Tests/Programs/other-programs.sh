# Each row of `quire help from-other-programs` that names commands, on the mount that is the working directory.
found() { quire search --sort name "$@" | sed "s|^$M/||" | xargs; }
# is WANTED COMMAND…: what the command prints.
is() { local printed; printed=$("${@:2}" || true); [ "$printed" = "$1" ]; }
soon() { eventually is "$@"; }

mkdir folder plain
for n in a b c; do echo "text of $n" >$n.txt; done
echo x >folder/d.txt
echo y >folder/e.txt
printf 'From: ann@example.org\nSubject: Invoice\n\nmailwords\n' >plain/mail.eml

# TMSU
quire tag add work a.txt
quire tag add urgent a.txt
ln b.txt .tags/work/
is "a.txt b.txt" found tag:work
quire tag add work a.txt b.txt
quire search --limit 20000 --print0 "in:$PWD/folder" | xargs -0r quire tag add work
is "a.txt b.txt folder/d.txt folder/e.txt" found tag:work
quire tag remove work folder/d.txt
rm .tags/work/e.txt
is "a.txt b.txt" found tag:work
is "$(printf 'work\nurgent')" quire tag list a.txt
is work,2 jq -r '.[] | select(.name == "work") | "\(.name),\(.count)"' <<<"$(quire tag list --json)"
is b.txt found tag:work -tag:urgent
is b.txt ls ".search/tag:work -tag:urgent"
quire tag add play c.txt
is "a.txt b.txt c.txt" found 'tag:work OR tag:play'
is 2 wc -l <<<"$(quire search --sort newest --limit 2 txt)"
is "folder/d.txt folder/e.txt plain/mail.eml" found -- '-tag:*'
quire tag rename play game
is c.txt found tag:game
is "" found tag:play
quire tag add one a.txt
quire tag add two b.txt
quire tag merge one two both
is "a.txt b.txt" found tag:both
rm -r .tags/both
is "" found tag:both
quire tag undo
is "a.txt b.txt" found tag:both
# The undo restores all tags removed within five seconds of each other, also this one.
quire tag remove work folder/e.txt
quire search --limit 20000 --print0 tag:work | xargs -0r quire tag add job
is "a.txt b.txt" found tag:job
quire tag add work/letters c.txt
is "a.txt b.txt c.txt" found tag:work
quire tag add year=2020 a.txt
is a.txt found tag:year=2020
mkdir '.search/mine=tag:game'
is c.txt ls .search/mine
is mine ls .search
mv a.txt moved.txt
is moved.txt found tag:urgent
mv "$S/moved.txt" "$S/a.txt"
soon a.txt found tag:urgent

# notmuch
quire index
is 5 wc -l <<<"$(quire search --limit 10 --sort oldest txt)"
is 5 jq length <<<"$(quire search --json txt)"
is 5 wc -l <<<"$(quire search --limit 20000 txt)"
quire tag add new c.txt
quire search --print0 tag:new | xargs -0r quire tag add work
quire search --print0 tag:new | xargs -0r quire tag remove new
is "" found tag:new
is "a.txt b.txt c.txt" found is:work
quire preview plain/mail.eml
rsync -aX "$S/" "$T/synchronized"
is "$(getfattr --only-values -n user.xdg.tags a.txt)" getfattr --only-values -n user.xdg.tags "$T/synchronized/a.txt"
tar --xattrs -cf "$T/archive.tar" a.txt
mkdir "$T/unpacked"
tar --xattrs --xattrs-include='*' -xf "$T/archive.tar" -C "$T/unpacked"
is "$(getfattr --only-values -n user.xdg.tags a.txt)" getfattr --only-values -n user.xdg.tags "$T/unpacked/a.txt"
soon plain/mail.eml found mailwords
quire index rebuild
is a.txt found path:a.txt
is a.txt found 'tag:work AND (urgent OR tag:urgent) NOT tag:game'
soon a.txt found '"text of a"'
soon plain/mail.eml found 'mailw*'
is "folder/d.txt folder/e.txt" found in:folder
convert -size 10x10 xc:red p.png
is p.png found 'mime:image/*'
is p.png found kind:image
timeout 20 quire watch --since 1 --json >"$T/changes" & watch=$!
seen() { grep -q p.png "$T/changes"; }
eventually seen
kill $watch

# plocate
is a.txt found name:a.txt
is a.txt found name:A.TXT
is plain/mail.eml found 'mail*'
mkdir -p a/x
echo >a/x/b1.pdf
is a/x/b1.pdf found 'path:a/**/b*.pdf'
is 5 wc -l <<<"$(quire search --limit 5 --print0 txt | tr '\0' '\n')"

# Recoll
quire search --why a.txt
quire index pause
quire index resume
is p.png found ext:png
is "a.txt b.txt c.txt folder/d.txt folder/e.txt p.png" found date:today -in:plain -in:a
is "" found 'size>1M'
soon plain/mail.eml found invoice

# Finder
quire favorite add a.txt
is a.txt ls .favorites
quire bookmark create a.txt >"$T/bookmark"
mv a.txt renamed.txt
is "$M/renamed.txt" quire bookmark resolve "$(<"$T/bookmark")"
timeout 20 quire search --live renamed >"$T/live" & live=$!
first() { grep -q renamed.txt "$T/live"; }
eventually first
kill $live
