"""Words in comments, Markdown and log messages."""
import re,os,fnmatch
from apply import *
WIDTH=132
DM='Mount/DocumentMount/'
# (files, old, new): exact text, in comments and Markdown; before the rules.
EXACT=[l for l in []]
def exact():
    out=[]; pats=['*']
    for l in read(HERE+'/words.map').split('\n'):
        if not l.strip() or l.startswith('#'): continue
        if l.startswith('@ '): pats=l[2:].split(); continue
        a,b=l.split(' => '); out.append((pats,a,b))
    return out
REPLAY=[DM+'Replay/*',DM+'Operations/Operations+Replayed.swift',DM+'Index/OutsideChanges.swift',DM+'Inodes/Node.swift',DM+'MountedStore.swift',
  DM+'Saves/SaveNotifier.swift','Sources/quire/Commands/UnmountCommand.swift','Tests/MountTests/Store/OutsideWatchTests.swift','Tests/AskedDisk/main.c',
  'Tests/MountTests/Coordination/GroupPublishingTests.swift','Tests/MountTests/Users/OtherUsersTests.swift','Tests/traps.proved','Mount/README.md','Sources/CLinux/*',
  DM+'Thumbnails/*']
RETRY=[DM+'Saves/StaleRetries.swift',DM+'Saves/SaveService+Redirecting.swift',DM+'Operations/Operations+Open.swift','Tests/MountTests/Saves/ConcurrentSaverTests.swift',
  'Tests/MountTests/Store/RemovedFileTests.swift',DM+'Transactions/*','Sources/Coordination/Saves/DocumentSaves.swift']
NODRAW=['Sources/DocumentKit/CCairo/*','Sources/DocumentKit/Providers/*','Sources/DocumentKit/DocumentKit.docc/*','Sources/DocumentKit/FileCoordinator.swift',
  'Sources/DocumentKit/Previews/*','Sources/Examples/*','Tests/MountTests/Coordination/ExampleTests.swift','Tests/MountTests/Saves/DesktopTests.swift','Tests/Benchmarks/*','Sources/quire/Previews/*']
RULES=[
 (REPLAY,[],[(r'\brepeating process\b','replay process'),(r'\bRepeating process\b','Replay process'),(r"\brepeater's\b","replayer's"),(r'\brepetitions\b','replays'),(r'\brepetition\b','replay'),
    (r'\brepeated\b','replayed'),(r'\brepeats\b','replays'),(r'\brepeating\b','replaying'),(r'\brepeat\b','replay')]),
 (RETRY,[],[(r'\brepetition\b','retry'),(r'\brepeated\b','retried'),(r'\brepeats\b','retries'),(r'\brepeat\b','retry')]),
 (['*'],NODRAW,[(r'\bundrawn\b','unrendered'),(r'\bdrawn\b','rendered'),(r'\bDrawn\b','Rendered'),(r'\bdraws\b','renders'),(r'\bDraws\b','Renders'),(r'\bdraw\b','render'),(r'\bDraw\b','Render'),
    (r'\bdrawing\b','rendering'),(r'\bDrawing\b','Rendering')]),
 (['*'],['Sources/Coordination/Saves/*','Mount/try'],[(r'\bgather pass(es)?\b',r'scan pass\1'),(r'\bgathering\b','scanning'),(r'\bGathering\b','Scanning'),(r'\bgathered\b','scanned'),(r'\bgathers\b','scans'),(r'\bGathers\b','Scans'),
    (r'\bgather\b','scan'),(r'\bGather\b','Scan')]),
 (['*'],['README.md'],[(r'\b([Oo])ne atomic look\b',r'\1ne atomic load'),(r'\bcosts a look (into|at) /proc','costs a read of /proc'),(r'\bOne look into /proc','One read of /proc'),
    (r'\bLooks in /proc','Reads /proc'),(r'\blooks in /proc','reads /proc'),(r'\blooks whether\b','checks whether'),(r'\bLooks whether\b','Checks whether'),(r'\blook whether\b','check whether'),
    (r'\bone look at\b','one check of'),(r'\bOne look at\b','One check of'),(r'\ba look at\b','a check of'),(r'\bat each look\b','at each lookup'),(r'\b([Ll])ook-up',r'\1ookup'),
    (r'\bwaiting looks\b','waiting lookups'),(r'\bwaiting look\b','waiting lookup'),(r'\bparked looks\b','parked lookups')]),
 (['Tests/traps.proved','Tests/traps'],[],[(r'\bLooked at\b','Checked'),(r'\blooked at\b','checked')]),
 (['*'],[],[(r'(^|[^`\w])maker of a file\b',r'\1creator of a file'),(r'\b(arrival|release) patience\b',r'\1 timeout')]),
 (['Sources/Coordination/Claims/*','Tests/CoordinationTests/*'],[],[(r"\bmaker's makers\b","claimant's claimants"),(r'\bmakers\b','claimants'),(r'\bmaker\b','claimant')]),
]
KEEP=[('README.md','5 drawn, 1 not.'),('README.md','folded, gathered')]
def matches(f,pats): return any(fnmatch.fnmatchcase(f,p) or p=='*' for p in pats)
def outside_ticks(t,fn):
    return ''.join(x if i%2 else fn(x) for i,x in enumerate(re.split(r'(`[^`\n]*`)',t)))
def change(f,t,used,ex):
    for n,(pats,a,b) in enumerate(ex):
        if a in t and matches(f,pats): t=t.replace(a,b); used.add(n)
    def fn(x):
        for inc,exc,rs in RULES:
            if matches(f,inc) and not matches(f,exc):
                for r,b in rs: x=re.sub(r,b,x)
        return x
    if any(f==k and s in t for k,s in KEEP): return t
    return outside_ticks(t,fn)
MARK=re.compile(r'^(- |\* |\d+\. |\||#|```|> |$|    )')
def prefix(f,l):
    if f.endswith('.md'):
        m=re.match(r'\s*',l); return m[0]
    m=re.match(r'(\s*(?:///|//|#)\s?)',l)
    return m[1] if m else None
def wrap(f,old,new):
    """Breaks changed lines that have become too long; what is over goes to the next line."""
    out=list(new); lim=[WIDTH if o!=n else 10**6 for o,n in zip(old,new)]; i=0
    code=False
    while i<len(out):
        l=out[i]
        if f.endswith('.md') and l.lstrip().startswith('```'): code=not code
        if len(l)>lim[i] and not code and prefix(f,l) is not None and not l.lstrip().startswith('|'):
            p=prefix(f,l); body=l[len(p):]
            hang=re.match(r'\s*(?:- |\* |\d+\. )?(?:Parameter \w+: )?',body)[0]
            ind=' '*len(re.match(r'\s*(?:- |\* |\d+\. )?',body)[0]) if re.match(r'\s*(- |\* |\d+\. )',body) else re.match(r'\s*',body)[0]
            k=l.rfind(' ',0,lim[i]+1)
            while l.count('`')%2==0 and k>0 and l[:k].count('`')%2: k=l.rfind(' ',0,k)
            if k<=len(p)+len(hang): i+=1; continue
            rest=l[k+1:]; out[i]=l[:k]
            n=out[i+1] if i+1<len(out) else ''
            np=prefix(f,n)
            if np is not None and np.strip()==p.strip() and len(np)-len(np.lstrip(' '))==len(p)-len(p.lstrip(' ')) or (f.endswith('.md') and n.strip()):
                nb=n[len(np):]
                if nb.strip() and not MARK.match(nb.lstrip() if f.endswith('.md') else nb.strip()) and (not f.endswith('.md') or True):
                    lead=re.match(r'\s*',nb)[0]
                    out[i+1]=np+lead+rest+' '+nb.lstrip(); lim[i+1]=WIDTH
                    i+=1; continue
            out.insert(i+1,p+ind+rest); lim.insert(i+1,WIDTH)
        i+=1
    return out
def run(root):
    ex=exact(); used=set()
    strs=parse('logs.map')
    for f in files(root):
        p=root+'/'+f; s=old=read(p); out=[]
        _,sregs=rules(strs,f)
        for k,t in split(f,s):
            if k in ('comment','prose'): t=''.join(change(f,x,used,ex) for x in re.split(r'(?<=\n)',t))
            elif k=='script' and f in ('Tests/traps.proved','Tests/traps'):
                t='\n'.join(change(f,l,used,ex) if l.lstrip().startswith('#') else l for l in t.split('\n'))
            elif k=='script' and f.startswith(('Tests/','Mount/')) and f.count('/')==1:
                t='\n'.join(change(f,l,used,ex) if l.lstrip().startswith('#') else l for l in t.split('\n'))
            elif k=='string':
                for r,b in sregs: t=r.sub(b,t)
            out.append(t)
        s=''.join(out)
        if s!=old:
            a,b=old.split('\n'),s.split('\n')
            if len(a)==len(b) and not f.startswith('Tests/traps'): s='\n'.join(wrap(f,a,b))
            write(p,s)
    for n,(pats,a,b) in enumerate(ex):
        if n not in used: print('not found:',pats[0],'|',a)
