import re,os,sys,subprocess,fnmatch
sys.path.insert(0,os.path.dirname(os.path.abspath(__file__)))
from texts import split, files
HERE=os.path.dirname(os.path.abspath(__file__))
WORD=re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
def git(root,*a): subprocess.check_call(['git',*a],cwd=root)
def read(p): return open(p,encoding='utf-8').read()
def write(p,s): open(p,'w',encoding='utf-8').write(s)
def lines(name):
    for l in read(HERE+'/'+name).split('\n'):
        if l.strip() and not l.startswith('#'): yield l
def parse(name):
    """[(patterns, words, regexes)] in order."""
    out=[]
    for l in lines(name):
        if l.startswith('@ '): out.append((l[2:].split(),{},[])); continue
        if l.startswith('/'):
            i=l.rindex('/ ') ; out[-1][2].append((re.compile(l[1:i],re.M),l[i+2:].replace('\\n','\n')))
        else:
            a,b=l.split(); out[-1][1][a]=b
    return out
def rules(parts,f):
    words,regs={},[]
    for pats,w,r in parts:
        if any(fnmatch.fnmatchcase(f,p) or p=='*' for p in pats):
            if w and '*' in pats and f.endswith(('.c','.h','.def')):
                # C is renamed by its own parts, but for what both languages share.
                w={a:b for a,b in w.items() if a.startswith('cl_') or a in ('repeat_below','is_repeating')}
                r=[x for x in r if 'CL_' in x[0].pattern]
            words.update(w); regs=r+regs
    return words,regs
