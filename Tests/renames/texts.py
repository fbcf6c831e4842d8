"""texts(root): yields (file, kind, text parts) for all text files; kinds: code comment string prose."""
import sys,re,os,subprocess
sys.path.insert(0,__import__('os').path.dirname(__import__('os').path.abspath(__file__))); from lex import parts
def cparts(s):
    out=[];i=0;a=0;n=len(s)
    def fl(k,x,y):
        if y>x: out.append((k,s[x:y]))
    while i<n:
        if s.startswith('//',i):
            fl('code',a,i); j=s.find('\n',i); j=n if j<0 else j; fl('comment',i,j); i=a=j
        elif s.startswith('/*',i):
            fl('code',a,i); j=s.find('*/',i)+2; fl('comment',i,j); i=a=j
        elif s[i]=='"':
            fl('code',a,i); j=i+1
            while j<n and s[j]!='"':
                j+=2 if s[j]=='\\' else 1
            fl('string',i,j+1); i=a=j+1
        elif s[i]=="'":
            j=i+1
            while j<n and s[j]!="'" : j+=2 if s[j]=='\\' else 1
            i=j+1
        else: i+=1
    fl('code',a,n)
    assert ''.join(t for _,t in out)==s
    return out
def split(f,s):
    if f.endswith('.swift'): return parts(s)
    if f.endswith(('.c','.h','.def')): return cparts(s)
    if f.endswith('.md'): return [('prose',s)]
    return [('script',s)]
def files(root):
    for f in subprocess.check_output(['git','ls-files'],cwd=root,text=True).split():
        p=root+'/'+f
        if os.path.islink(p) or not os.path.isfile(p): continue
        yield f
if __name__=='__main__':
    import bisect
    root,rx,kinds=sys.argv[1:4]; pr=sys.argv[4] if len(sys.argv)>4 else ''
    tot=0
    for f in files(root):
        if not re.search(pr,f): continue
        s=open(root+'/'+f).read(); lines=s.split('\n'); pos=0; seen=set(); starts=[0]
        for l in lines: starts.append(starts[-1]+len(l)+1)
        out=[]
        for k,t in split(f,s):
            if k in kinds.split(','):
                for m in re.finditer(rx,t):
                    n=bisect.bisect_right(starts,pos+m.start())-1
                    if n not in seen: seen.add(n); out.append((n,lines[n].strip()))
            pos+=len(t)
        if out:
            print('##',f)
            for n,l in out: print(n+1,l); tot+=1
    print('total',tot,file=sys.stderr)
