# A repository with 50 files and one commit; always the same objects.
set -e
cd "$1"
export HOME="$1" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost
export GIT_AUTHOR_DATE='1000000000 +0000' GIT_COMMITTER_DATE='1000000000 +0000'
git init -q -b main repository
cd repository
i=0
while [ $i -lt 50 ]; do
  echo "line $i" >"f$i"
  i=$((i + 1))
done
git add -A
git commit -q -m one
git rev-parse HEAD
git fsck --strict
echo "objects $(git count-objects | cut -d' ' -f1)"
