"""ren.py CHECKOUT [STEP…]: applies the maps beside it. Steps, in this order unless named: targets, types, words.

  targets  folders and targets (moves.map, paths in all texts)
  types    files, identifiers in code, process and thread names (filemoves.map, code.map, strings.map)
  words    comments, Markdown, log messages (words.map), long comment lines are wrapped anew
"""
import re,os,sys
from apply import *
root=os.path.abspath(sys.argv[1]); steps=sys.argv[2:] or ['targets','types','words']
TARGETS={'Thumbnails':'DocumentRendering','ThumbnailWorker':'RenderingWorker','FuseKernel':'FuseServer','SaverProcesses':'ProcessInspection',
         'ThumbnailsTests':'DocumentRenderingTests','SaverProcessesTests':'ProcessInspectionTests'}
IMPORT=re.compile(r'(?m)^(?:(?:@testable |public |internal |package )?import [\w.]+\n)+')
def imports(s,old):
    """A block of imports in the order of the modules' names."""
    def order(m):
        l=m[0].splitlines(); before=IMPORT.search(old)[0].splitlines()
        if before!=sorted(before,key=lambda x:x.split()[-1]): return m[0]
        return '\n'.join(sorted(l,key=lambda x:x.split()[-1]))+'\n'
    return IMPORT.sub(order,s,count=1)
def targets():
    for l in lines('moves.map'):
        a,b=l.split()
        if os.path.exists(root+'/'+a): git(root,'mv',a,b)
    for f in files(root):
        p=root+'/'+f; s=old=read(p)
        # paths
        for l in lines('moves.map'):
            a,b=l.split(); s=re.sub(r'(?<![\w/])'+re.escape(a)+r'(?![\w])',b,s)
        # paths relative to Sources, Mount, DocumentMount, as comments and scripts have them
        s=re.sub(r'\bDocumentMount/(Repeats|Workspaces)/',lambda m:'DocumentMount/'+{'Repeats':'Replay','Workspaces':'Transactions'}[m[1]]+'/',s)
        s=s.replace('Thumbnails/CGio','DocumentRendering/CGio') if f=='Tests/documentation' else s
        if f.endswith('.swift'):
            out=[]
            for k,t in split(f,s):
                if k=='code':
                    t=re.sub(r'(?m)^((?:@testable |public |internal |package )?import )(\w+)$',lambda m:m[1]+TARGETS.get(m[2],m[2]),t)
                    t=re.sub(r'\b(FuseKernel|SaverProcesses|Thumbnails|ThumbnailWorker)(?=\.[A-Z])',lambda m:TARGETS[m[1]],t)
                if k=='string' and f.endswith('Package.swift') and t[1:-1] in TARGETS: t='"'+TARGETS[t[1:-1]]+'"'
                if k=='comment':
                    t=re.sub(r'\b(FuseKernel|SaverProcesses|ThumbnailsTests|SaverProcessesTests)\b',lambda m:TARGETS[m[1]],t)
                out.append(t)
            s=''.join(out)
            if s!=old: s=imports(s,old)
        elif f=='Tests/traps':
            s=s.replace('Mount/FuseKernel','Mount/FuseServer').replace('Mount/SaverProcesses','Mount/ProcessInspection')
            s=s.replace('CoordinationService Thumbnails WorkerProtocol','CoordinationService DocumentRendering WorkerProtocol')
        elif f.endswith('.md') or f in ('Tests/traps.proved',):
            s=re.sub(r'\b(FuseKernel|SaverProcesses)\b',lambda m:TARGETS[m[1]],s)
            s=s.replace('`Sources/Thumbnails`','`Sources/DocumentRendering`').replace('`ThumbnailWorker`','`RenderingWorker`')
            if f=='README.md': s=re.sub(r'(?m)^    ((?:Sources|Mount)/\w+) +(?=\S)',lambda m:('    '+m[1]).ljust(33),s)
        if s!=old: write(p,s)
def rename(text,words):
    return WORD.sub(lambda m:words.get(m[0],m[0]),text)
def is_name(w): return re.search(r'[a-z0-9][A-Z]',w) or '_' in w
def types():
    for l in lines('filemoves.map'):
        a,b=l.split(); b=os.path.dirname(a)+'/'+b
        if os.path.exists(root+'/'+a): git(root,'mv',a,b)
    code=parse('code.map'); strs=parse('strings.map')
    for f in files(root):
        p=root+'/'+f; s=old=read(p)
        words,regs=rules(code,f); sw,sregs=rules(strs,f)
        out=[]
        for k,t in split(f,s):
            if k=='code':
                for r,b in regs: t=r.sub(b,t)
                t=rename(t,words)
            elif k in ('comment','prose'):
                # names in comments: types and names of several words, and what is quoted
                names={a:b for a,b in words.items() if (is_name(a) or a[0].isupper() and a not in PLAIN) and a!='waitingLooks'}
                t=re.sub(r'`[^`\n]+`',lambda m:quoted(m[0],words,f),t)
                t=rename(t,names)
                t=re.sub(r'(?<=- )(Parameter )?([a-z]\w*)(?=:)',lambda m:(m[1] or '')+words.get(m[2],m[2]),t) if k=='comment' else t
                for r,b in sregs: t=r.sub(b,t)
            elif k=='script':
                if f=='Tests/traps.proved':
                    t='\n'.join(proved(l,code,words) for l in t.split('\n'))
                for r,b in sregs: t=r.sub(b,t)
                for a,b in FILENAMES: t=t.replace(a,b)
            elif k=='string':
                for r,b in sregs: t=r.sub(b,t)
            if k in ('comment','prose'):
                for a,b in FILENAMES: t=t.replace(a,b)
            out.append(t)
        s=''.join(out)
        if s!=old:
            from words import wrap
            if s.count('\n')==old.count('\n') and f.endswith(('.swift','.c','.h')): s='\n'.join(wrap(f,old.split('\n'),s.split('\n')))
            write(p,s)
    from fixes import FIXES
    for f,a,b in FIXES:
        p=root+'/'+f; s=read(p)
        if a not in s: print('no such line:',f,a.strip()[:80])
        write(p,s.replace(a,b))
PLAIN={'Reach','Look','Claim','Lock','Reply','Main','Report','Entry','Presenter','Refusal','Gather','Maker','Salvage','Errand','Doer','Happening','Sight','Doomed','Workspaces','Tunnel','Gatherer','Repeater','Repetition','Dispatcher','Drawn'}
FILENAMES=[(x.split()[0].split('/')[-1],x.split()[1]) for x in lines('filemoves.map')]
FILENAMES=[(a,b) for a,b in FILENAMES if a not in ('ClaimTests.swift','PresenterTests.swift','Dispatcher.swift','PresenterQuestion.swift','DocumentFacts.swift')]
def quoted(q,words,f):
    if re.fullmatch(r'`(quire|gather|repeat|draw|look)( .*)?`',q): return q
    if f.endswith('README.md') and '/' not in f or '.docc/' in f: return q
    return rename(q,{a:b for a,b in words.items() if a!='waitingLooks'})
def proved(line,code,words):
    if line.startswith('#') or ' | ' not in line: return line
    path,text=line.split(' | ',1)
    for a,b in FILENAMES+[(x.split()[0],os.path.dirname(x.split()[0])+'/'+x.split()[1]) for x in lines('filemoves.map')]:
        path=path.replace(a,b) if path.endswith(a) or path==a else path
    w,r=rules(code,path.replace('*','x'))
    for a,b in r: text=a.sub(b,text)
    return path+' | '+rename(text,w)
def words():
    import words as W
    W.run(root)
    write(root+'/Mount/Glossary.md',read(HERE+'/Glossary.md'))
    p=root+'/Mount/README.md'; s=read(p)
    if 'Glossary.md' not in s:
        a=s.split('\n\n')[1]+'\n'
        assert a in s
        write(p,s.replace(a,a[:-1]+' Terms are those of [Glossary.md](Glossary.md).\n',1))
for s in steps: {'targets':targets,'types':types,'words':words}[s]()
